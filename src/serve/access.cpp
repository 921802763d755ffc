#include "serve/service.h"

#include <strings.h>

#include <algorithm>

#include "base/fail.h"
#include "base/file_source.h"

namespace gpt2::serve {
namespace {

constexpr std::size_t kMaxFile = 1 << 20;  // bytes

// Compares all characters of `given`, whatever the first ones are.
bool is_same(std::string_view given, const std::string& key) {
  std::size_t difference = given.size() ^ key.size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<std::size_t>(given[i] ^ key[i % key.size()]);
  }
  return difference == 0;
}

bool has(const std::vector<std::string>& origins, std::string_view origin) {
  return std::ranges::find(origins, origin) != origins.end();
}

std::string lower_case(std::string text) {
  for (char& c : text) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// Whether the value of the header "Host" is an IP address or "localhost", which no name server
// resolves.
bool is_address(std::string_view host) {
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "localhost" || host.starts_with('[') ||
         name.find_first_not_of("0123456789.") == name.npos;
}

// Whether a browser sends this origin: a scheme, a host in lower case (in ASCII: xn--...), and a
// port unless it is that of the scheme.
bool is_origin(const std::string& text) {
  const std::size_t scheme = text.find("://");
  if (scheme == text.npos || scheme == 0 || text != lower_case(text)) return false;
  const std::string host = text.substr(scheme + 3);
  const char* const own_port = text.starts_with("https:") ? ":443" : ":80";
  constexpr const char* kOfHosts = "abcdefghijklmnopqrstuvwxyz0123456789-._:[]";
  return !host.empty() && !host.ends_with(own_port) && !host.ends_with(':') &&
         host.find_first_not_of(kOfHosts) == host.npos;
}

}  // namespace

void ApiKeys::add(const std::string& key, const std::string& where) {
  const auto is_printable = [](char c) { return c > ' ' && c <= '~'; };
  if (key.empty() || !std::ranges::all_of(key, is_printable)) {
    reject(where, ": an API key must have printable ASCII characters without spaces, found ",
           key.empty() ? "an empty one" : "others");
  }
  keys_.push_back(key);
}

void ApiKeys::add_file(const std::string& file) {
  const std::string text = read_file(file, kMaxFile);
  const std::size_t before = keys_.size();
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && line[0] != '#') add(line, concat(file, ":", number));
    begin = end + 1;
  }
  if (keys_.size() == before) reject(file, ": expected a key a line, found none");
}

bool ApiKeys::admits(std::string_view authorization) const {
  if (keys_.empty()) return true;
  constexpr std::string_view kScheme = "Bearer ";  // in upper or lower case
  if (authorization.size() < kScheme.size()) return false;
  if (strncasecmp(authorization.data(), kScheme.data(), kScheme.size()) != 0) return false;
  std::string_view given = authorization.substr(kScheme.size());
  while (given.ends_with(' ') || given.ends_with('\t')) given.remove_suffix(1);
  bool is_known = false;
  for (const std::string& key : keys_) is_known |= is_same(given, key);
  return is_known;
}

void Access::add_origin(const std::string& origin) {
  if (origin != "*" && !is_origin(origin)) {
    reject(
        "--cors: expected an origin as browsers send it, such as https://example.org or "
        "http://localhost:3000, or * for all, found ",
        quote(origin));
  }
  cors.push_back(origin);
}

Headers Access::cors_headers(const std::string& origin) const {
  const bool is_any = has(cors, "*");
  if (!is_any && !has(cors, origin)) return {};
  return {{"Access-Control-Allow-Origin", is_any ? "*" : origin},
          {"Vary", "Origin"},
          {"Access-Control-Allow-Headers", "Authorization, *"},
          {"Access-Control-Expose-Headers", "X-Request-Id"},
          {"Access-Control-Allow-Methods", "GET, POST"}};
}

// Whoever owns a name can let it lead to this machine after a browser has loaded a page from its
// server (DNS rebinding). To the browser, its requests are then those of this server's own page,
// and a GET has no origin. So if programs on this machine alone reach the server, they use a name
// that leads here, or a key.
bool Access::admits_host(const std::string& given) const {
  if (local_host.empty() || !keys.empty() || has(cors, "*")) return true;
  const std::string host = lower_case(given);
  return is_address(host) || host.substr(0, host.find(':')) == lower_case(local_host) ||
         has(cors, "http://" + host) || has(cors, "https://" + host);
}

// A browser sends the requests of any page to a server on the same machine, so only pages of this
// server, and those that --cors allows, may use it. Because of DNS rebinding, a page whose server
// has a name is one of this server only if it knows a key.
bool Access::admits_origin(const HttpRequest& request) const {
  const std::string& origin = request.origin;
  if (origin.empty() || has(cors, "*") || has(cors, origin)) return true;
  const bool is_own = origin == "http://" + request.host || origin == "https://" + request.host;
  return is_own && (!keys.empty() || is_address(request.host));
}

}  // namespace gpt2::serve
