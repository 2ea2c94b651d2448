package pets

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

var store struct {
	BaseURL string            `json:"baseUrl"`
	APIKeys map[string]string `json:"apiKeys"`
	Control string            `json:"control"`
}

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv("ADOPTION_STORE"))
	if len(words) == 0 {
		// Not npx: it would not forward the signal that stops the server.
		words = []string{"node_modules/.bin/animal-adoption-store"}
	}
	words = append(words, "--control", "--empty", "--port", "0", "--json", "--quiet")
	server := exec.Command(words[0], words[1:]...)
	output, err := server.StdoutPipe()
	if err != nil || server.Start() != nil {
		panic("cannot start the store")
	}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &store) != nil {
		panic("the store is not ready")
	}
	code := m.Run()
	server.Process.Signal(syscall.SIGTERM)
	server.Wait()
	os.Exit(code)
}

func TestCreatesAnAnimal(t *testing.T) {
	reset(t)
	body := `{"name":"Ada","categoryId":9223372036854775807}`
	if status := send(t, "POST", store.BaseURL+"/pets", body, nil); status != 201 {
		t.Fatalf("got %d", status)
	}
	var pets []struct {
		Name       string `json:"name"`
		CategoryID int64  `json:"categoryId"`
	}
	send(t, "GET", store.BaseURL+"/pets", "", &pets)
	if len(pets) != 1 || pets[0].CategoryID != 9223372036854775807 {
		t.Fatalf("got %v", pets)
	}
}

func reset(t *testing.T) {
	if status := send(t, "POST", store.Control+"/reset", "", nil); status != 200 {
		t.Fatalf("got %d", status)
	}
}

func send(t *testing.T, method, url, body string, into any) int {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+store.APIKeys["free"])
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if into != nil {
		if err := json.NewDecoder(response.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	return response.StatusCode
}
