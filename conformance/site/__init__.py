"""Write the results site: certificates of many targets as static pages."""
