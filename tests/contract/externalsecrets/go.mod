// external-secrets' controller, for test_contract_controllers.py. Nothing of this is part
// of the package. Its providers and generators for clouds are left out: `overlay`.
module asoreconcile/externalsecrets

go 1.26.0

tool github.com/external-secrets/external-secrets

require github.com/external-secrets/external-secrets v0.16.2
