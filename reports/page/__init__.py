"""What all pages share: one design, one content security policy, one way from a template to a file."""
