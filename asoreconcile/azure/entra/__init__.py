"""Entra's security groups as a kind without ARM (`non_arm.resource`).

Pure: `wanted` (what a spec asks for), `decisions` (which group is the object's, and
whether to make one), `links` (who is to be added and taken out). `security_group` asks
Microsoft Graph and does what is decided.
"""
