"""The results site: certificates of many targets as one static site."""
