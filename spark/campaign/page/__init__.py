"""A campaign as one page of HTML."""
