"""The answers of controllers, and what they write, held to the tables of the facts (streams.md, reassignment.md).

For each request these modules say, from the metadata before it, which errors the tables allow and what the metadata
have to be after it. They share no code with the controller but the rows of the metadata.
"""
