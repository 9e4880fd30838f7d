// Escapes and unescapes the bytes that addresses cannot hold (RFC 3986).
#include "tools/lib/lsp/Uri.h"

#include <cctype>
#include <filesystem>

namespace npar::lsp {
namespace {

constexpr const char *fileScheme = "file:";

int hexDigit(char c) {
  auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= '0' && lower <= '9' ? lower - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string unescaped(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%' && i + 2 < text.size() && hexDigit(text[i + 1]) >= 0 && hexDigit(text[i + 2]) >= 0) {
      result += static_cast<char>(hexDigit(text[i + 1]) * 16 + hexDigit(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  return result;
}

} // namespace

bool isAddress(const std::string &path) {
  size_t colon = path.find(':');
  if (colon == std::string::npos || colon < 2 || !std::isalpha(static_cast<unsigned char>(path[0])))
    return false;
  for (char c : path.substr(0, colon))
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.')
      return false;
  return true;
}

std::string plainPath(const std::string &path) { return isAddress(path) ? path : std::filesystem::path(path).lexically_normal().string(); }

std::string pathOf(const std::string &uri) {
  if (uri.compare(0, 5, fileScheme) != 0)
    return uri;
  std::string rest = uri.substr(5);
  if (rest.compare(0, 2, "//") == 0) { // a host may follow, which is this one
    size_t path = rest.find('/', 2);
    rest = path == std::string::npos ? "/" : rest.substr(path);
  }
  return plainPath(unescaped(rest));
}

std::string uriOf(const std::string &path) {
  if (isAddress(path))
    return path;
  std::error_code ignored;
  std::filesystem::path whole = std::filesystem::absolute(path, ignored);
  std::string uri = "file://";
  for (char c : (ignored ? std::filesystem::path(path) : whole).lexically_normal().string()) {
    auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string("/-._~!$&'()*+,;=:@").find(c) != std::string::npos) {
      uri += c;
    } else {
      const char *digits = "0123456789ABCDEF";
      uri += '%', uri += digits[byte / 16], uri += digits[byte % 16];
    }
  }
  return uri;
}

} // namespace npar::lsp
