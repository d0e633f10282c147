// kro's controller, for tests/acceptance/test_kro.py. Nothing of this is part of the
// package.
module asoreconcile/kro

go 1.26.0

tool github.com/kubernetes-sigs/kro/cmd/controller

require github.com/kubernetes-sigs/kro v0.9.4
