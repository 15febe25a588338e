"""What tests share: servers, worlds, builders of input."""
