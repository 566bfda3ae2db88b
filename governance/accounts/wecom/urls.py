from allauth.socialaccount.providers.oauth2.urls import default_urlpatterns

from governance.accounts.wecom.provider import WeComProvider

urlpatterns = default_urlpatterns(WeComProvider)
