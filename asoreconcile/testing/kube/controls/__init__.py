"""What a test does to the server: faults, the journal of requests, `/_control/`."""
