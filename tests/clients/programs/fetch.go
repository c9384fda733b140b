// SPDX-License-Identifier: Apache-2.0
// GETs each URL with net/http, statically linked; prints "STATUS BODY" or the error.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	client := &http.Client{Timeout: 20 * time.Second}
	for _, url := range os.Args[1:] {
		answer, err := client.Get(url)
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Println(answer.StatusCode, string(body))
	}
}
