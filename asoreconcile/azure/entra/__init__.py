"""Entra's security groups as a kind without ARM (`non_arm.resource`).

Pure: `desired` (the group that a spec describes), `decisions` (which group belongs to
the object, and whether to create one), `links` (members and owners to add and remove).
`security_group` calls Microsoft Graph and executes the decisions.
"""
