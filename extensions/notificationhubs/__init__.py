"""Special cases of notificationhubs."""
