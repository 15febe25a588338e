// Ask a running service, look up what the answer cites, and see what an error is.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"unicode/utf8"
)

// Problem is what the service says of a request that it refuses (RFC 9457).
type Problem struct {
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func (problem Problem) Error() string { return fmt.Sprintf("%d: %s", problem.Status, problem.Detail) }

// Citation says where a part of a context comes from; offsets count Unicode code points.
type Citation struct {
	Number    int    `json:"number"`
	DocID     string `json:"doc_id"`
	ChunkID   int    `json:"chunk_id"`
	CharStart *int   `json:"char_start"`
	CharEnd   *int   `json:"char_end"`
}

type Composition struct {
	Text      string     `json:"text"`
	Citations []Citation `json:"citations"`
}

type Found struct {
	DocID string `json:"doc_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

type Batch struct {
	Answers []struct {
		Answer  *Composition `json:"answer"`
		Problem *Problem     `json:"problem"`
	} `json:"answers"`
}

type object map[string]any

// post sends a request as JSON, and reads the answer or the problem.
func post(url string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	asked, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	asked.Header.Set("Content-Type", "application/json")
	if key := os.Getenv("RETRIVEX_KEY"); key != "" {
		asked.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(asked)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		problem := Problem{Status: response.StatusCode}
		if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
			return fmt.Errorf("status %d without a problem document: %w", response.StatusCode, err)
		}
		return problem
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

func run(url string) error {
	var made Composition
	question := object{"question": "Which meals are paid on a business trip?", "config": object{"token_budget": 300}}
	if err := post(url+"/v1/query", question, &made); err != nil {
		return err
	}
	fmt.Println(made.Text)
	for _, citation := range made.Citations {
		var found Found
		if err := post(url+"/v1/resolve", citation, &found); err != nil {
			return err
		}
		length := utf8.RuneCountInString(found.Text)
		fmt.Printf("[%d] %s (%s), %d characters\n", citation.Number, found.DocID, found.Title, length)
	}
	var batch Batch
	requests := []object{{"question": "Who signs a claim?"}, {"question": "Who?", "index": "archive"}}
	if err := post(url+"/v1/query/batch", object{"requests": requests}, &batch); err != nil {
		return err
	}
	for _, item := range batch.Answers {
		if item.Problem != nil {
			fmt.Println(item.Problem)
		} else {
			fmt.Println(item.Answer.Citations[0].DocID)
		}
	}
	return nil
}

func main() {
	url := "http://127.0.0.1:8080"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	if err := run(url); err != nil {
		log.Fatal(err)
	}
}
