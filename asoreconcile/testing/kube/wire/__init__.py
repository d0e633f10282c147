"""What goes over the wire: bodies read, answers and refusals written, webhooks called.

No object is looked up here, and no kind or rule is known.
"""
