"""Commands about what deployments cost."""
