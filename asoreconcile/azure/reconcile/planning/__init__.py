"""Plans, explanations and imports for the commands of asoctl; the operator does not use
them.
"""
