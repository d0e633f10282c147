"""Special cases of servicebus: Service Bus."""
