// Clientcmd reads kubeconfigs as kubectl does, for tests/contract/test_contract_clientcmd.py.
//
// Each line of its input is a value of KUBECONFIG. Each line of its output is what a
// client of that configuration does, as JSON: the server that it asks, the headers that
// it adds and what it does about TLS; or the error.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
)

type result struct {
	Error     string              `json:"error,omitempty"`
	URL       string              `json:"url"`
	Namespace string              `json:"namespace"`
	Headers   map[string][]string `json:"headers"`
	Insecure  bool                `json:"insecure"`
	Name      string              `json:"server_name"`
	Authority string              `json:"authority"`
	Shown     string              `json:"certificate"`
	Proxy     string              `json:"proxy"`
}

// noted keeps the headers that the client's wrappers have added to a request.
type noted struct{ headers http.Header }

func (n *noted) RoundTrip(request *http.Request) (*http.Response, error) {
	n.headers = request.Header
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

func read(paths string) (*result, error) {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: strings.Split(paths, ":")}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	conf, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	if _, err := transport.TLSConfigFor(conf); err != nil {
		return nil, err
	}
	seen := &noted{}
	client, err := transport.HTTPWrappersForConfig(conf, seen)
	if err != nil {
		return nil, err
	}
	request, _ := http.NewRequest("GET", "https://cluster.example/", nil)
	if config.Proxy != nil {
		if _, err := config.Proxy(request); err != nil {
			return nil, err
		}
	}
	if _, err := client.RoundTrip(request); err != nil {
		return nil, err
	}
	found := &result{
		URL:       fmt.Sprintf("%s://%s%s", base.Scheme, base.Host, strings.TrimRight(base.EscapedPath(), "/")),
		Namespace: namespace,
		Headers:   seen.headers,
		Insecure:  conf.TLS.Insecure,
		Name:      conf.TLS.ServerName,
		Authority: string(conf.TLS.CAData),
		Shown:     string(conf.TLS.CertData),
	}
	if config.Proxy != nil {
		proxy, err := config.Proxy(request)
		if err != nil {
			return nil, err
		}
		found.Proxy = proxy.String()
	}
	if base.User != nil {
		return nil, fmt.Errorf("the test gives no users in URLs")
	}
	return found, nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		found, err := read(lines.Text())
		if err != nil {
			found = &result{Error: err.Error()}
		}
		if err := out.Encode(found); err != nil {
			panic(err)
		}
	}
}
