// Facts and a scenario of client-go, for the contract suite:
//
//	clientgo scenario NAMESPACE   uses a server; exits 1 if a step failed
//	clientgo messages             prints the protobuf fields of the kinds that it reads
//	                              from stdin, a line for each: GROUP/VERSION/KIND
//	clientgo samples SEED COUNT   prints random objects of these kinds, in protobuf and JSON
//
// Nothing of this is part of the package.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	must(extensions.AddToScheme(scheme.Scheme))
	switch os.Args[1] {
	case "scenario":
		scenario(os.Args[2])
	case "messages":
		messages(kinds())
	case "samples":
		seed, err := strconv.ParseInt(os.Args[2], 10, 64)
		must(err)
		count, err := strconv.Atoi(os.Args[3])
		must(err)
		samples(kinds(), seed, count)
	}
}

func kinds() []schema.GroupVersionKind {
	var found []schema.GroupVersionKind
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		parts := strings.Split(lines.Text(), "/")
		found = append(found, schema.GroupVersionKind{
			Group: parts[0], Version: parts[1], Kind: parts[2]})
	}
	must(lines.Err())
	return found
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
