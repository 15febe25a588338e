"""RetriVex over the wire: what every interface calls (`engine`), and the HTTP service around it (`app`)."""
