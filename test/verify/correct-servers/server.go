// The API on Go's net/http, written from the specification alone.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

type pet struct {
	Id         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryId int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

type failure struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
	Code    string `json:"code"`
}

var (
	key       = os.Args[1]
	mutex     sync.Mutex
	pets      = []pet{}
	remaining = 1000
	windowEnd = time.Now().Add(time.Minute)
	digits    = regexp.MustCompile(`^[0-9]{1,19}$`)
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	http.Serve(listener, http.HandlerFunc(serve))
}

func serve(w http.ResponseWriter, r *http.Request) {
	mutex.Lock()
	defer mutex.Unlock()
	status, value := answer(w, r)
	if time.Now().After(windowEnd) {
		remaining, windowEnd = 1000, time.Now().Add(time.Minute)
	}
	if status != 401 && remaining > 0 {
		remaining--
	}
	headers := w.Header()
	headers.Set("Content-Type", "application/json; charset=utf-8")
	headers.Set("X-RateLimit-Limit", "1000")
	headers.Set("X-RateLimit-Remaining", strconv.Itoa(remaining))
	headers.Set("X-RateLimit-Reset", strconv.FormatInt(windowEnd.Unix()+1, 10))
	if status == 401 {
		headers.Set("WWW-Authenticate", `Bearer realm="pets"`)
	}
	body, _ := json.MarshalIndent(value, "", "\t")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

func answer(w http.ResponseWriter, r *http.Request) (int, any) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token != key {
		return fail(401, "missing or wrong key")
	}
	isGet := r.Method == "GET" || r.Method == "HEAD"
	if r.URL.Path == "/v1/pets" && isGet {
		return list(r)
	}
	if r.URL.Path == "/v1/pets" && r.Method == "POST" {
		return create(w, r)
	}
	id := strings.TrimPrefix(r.URL.Path, "/v1/pets/")
	if id != r.URL.Path && isGet && digits.MatchString(id) {
		for _, one := range pets {
			if strconv.FormatInt(one.Id, 10) == id {
				return 200, one
			}
		}
	}
	return fail(404, "nothing here")
}

func list(r *http.Request) (int, any) {
	query := r.URL.Query()
	limit := 20
	if query.Has("limit") {
		given, err := strconv.Atoi(query.Get("limit"))
		if err != nil || given < 1 {
			return fail(400, "limit is a number from 1 on")
		}
		limit = given
	}
	if limit > 100 {
		limit = 100
	}
	found := []pet{}
	// The newest first.
	for at := len(pets) - 1; at >= 0 && len(found) < limit; at-- {
		if status := query.Get("status"); status == "" || status == pets[at].Status {
			found = append(found, pets[at])
		}
	}
	return 200, found
}

func create(w http.ResponseWriter, r *http.Request) (int, any) {
	if r.Header.Get("Content-Encoding") != "" {
		return fail(415, "no content coding is known")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return fail(413, "the body is too large")
	}
	var members map[string]json.RawMessage
	if !utf8.Valid(body) || json.Unmarshal(body, &members) != nil || members == nil {
		return fail(400, "the body is no JSON object")
	}
	var created pet
	if !read(members["name"], &created.Name) {
		return fail(400, "name is a string")
	}
	if !read(members["categoryId"], &created.CategoryId) {
		return fail(400, "categoryId is an int64")
	}
	if status, isGiven := members["status"]; isGiven {
		if !read(status, &created.Status) || !isStatus(created.Status) {
			return fail(400, "status is one of three")
		}
	}
	created.Id = int64(len(pets)) + 9007199254740993
	pets = append(pets, created)
	return 201, created
}

func read(text json.RawMessage, value any) bool {
	return len(text) > 0 && !bytes.Equal(text, []byte("null")) && json.Unmarshal(text, value) == nil
}

func isStatus(text string) bool {
	return text == "available" || text == "pending" || text == "sold"
}

func fail(status int, message string) (int, any) {
	return status, failure{status, message, "E" + strconv.Itoa(status)}
}
