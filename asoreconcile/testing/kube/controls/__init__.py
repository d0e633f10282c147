"""The controls of a test over the server: faults, journal, `/_control/`."""
