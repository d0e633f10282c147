// Package register has the providers of a test: no cloud's.
package register

import (
	_ "github.com/external-secrets/external-secrets/pkg/provider/fake"
	_ "github.com/external-secrets/external-secrets/pkg/provider/kubernetes"
)
