// Package register has the generators of a test: no cloud's.
package register

import _ "github.com/external-secrets/external-secrets/pkg/generator/password"
