"""Sign-in by WeCom (企业微信) for django-allauth: a provider of a few lines."""
