"""Entra's security groups, applications and service principals as kinds without ARM
(`non_arm.resource`).

Pure: `kinds` (the kinds as a table), `desired` (what a spec describes), `decisions`
(what of Entra belongs to the object, and whether to create it), `links` (members and
owners to add and remove). `directory_objects` calls Microsoft Graph and executes the
decisions.
"""
