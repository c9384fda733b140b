// SPDX-License-Identifier: Apache-2.0
// GETs each URL with net/http, statically linked, or POSTs to those after the word POST; prints "STATUS BODY" or the error.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	client := &http.Client{Timeout: 20 * time.Second}
	method := "GET"
	for _, url := range os.Args[1:] {
		if !strings.Contains(url, ":") {
			method = url
			continue
		}
		request, err := http.NewRequest(method, url, nil)
		if err != nil {
			panic(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Println(answer.StatusCode, string(body))
	}
}
