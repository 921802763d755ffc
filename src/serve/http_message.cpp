#include "serve/http_message.h"

#include <netdb.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/text.h"

namespace gpt2::serve {
namespace {

constexpr std::size_t kMaxThrownAway = 64 << 20;  // bytes of the body of a refused request

std::size_t count_headers(MHD_Connection* connection, const char* name) {
  std::pair<const char*, std::size_t> counter = {name, 0};
  const auto count = [](void* context, MHD_ValueKind, const char* key, const char*) {
    auto& [wanted, found] = *static_cast<std::pair<const char*, std::size_t>*>(context);
    if (strcasecmp(key, wanted) == 0) ++found;
    return MHD_YES;
  };
  MHD_get_connection_values(connection, MHD_HEADER_KIND, count, &counter);
  return counter.second;
}

constexpr std::size_t kBlock = 16384;  // of a body that is sent

// The body of an answer, for libmicrohttpd.
struct Body {
  MHD_Connection* connection;
  std::shared_ptr<Reply> reply;
  const Waker& waker;

  static ssize_t read(void* context, std::uint64_t, char* buffer, std::size_t max) {
    const Body& body = *static_cast<Body*>(context);
    const auto count = body.reply->read(
        buffer, max, [&body] { MHD_suspend_connection(body.connection); },
        resume(body.connection, body.waker));
    if (count) return static_cast<ssize_t>(*count);
    const bool is_cut = body.reply->is_abandoned();
    return is_cut ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
  }

  static void free(void* context) { delete static_cast<Body*>(context); }
};

void add_headers(MHD_Response* response, const Headers& headers) {
  for (const auto& [name, value] : headers) {
    MHD_add_response_header(response, name.c_str(), value.c_str());
  }
}

}  // namespace

std::string client_of(MHD_Connection* connection) {
  const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return "";
  const bool is_v6 = info->client_addr->sa_family == AF_INET6;
  const socklen_t size = is_v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  char host[NI_MAXHOST] = "";
  getnameinfo(info->client_addr, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

const char* header_of(MHD_Connection* connection, const char* name) {
  const char* const value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

bool has_valid_headers(MHD_Connection* connection) {
  bool is_valid = count_headers(connection, MHD_HTTP_HEADER_HOST) <= 1;
  const auto check = [](void* context, MHD_ValueKind, const char* name, const char* value) {
    constexpr const char* kOfToken =  // RFC 9110, 5.6.2
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const std::size_t of_token = std::strspn(name, kOfToken);
    const bool is_name = of_token > 0 && name[of_token] == '\0';
    // libmicrohttpd 0.9.75 joins the line after a folded "Content-Length:" to the name.
    const auto begins = [name](std::string_view wanted) {
      return strncasecmp(name, wanted.data(), wanted.size()) == 0 && name[wanted.size()] != '\0';
    };
    const bool is_joined =
        begins(MHD_HTTP_HEADER_CONTENT_LENGTH) || begins(MHD_HTTP_HEADER_TRANSFER_ENCODING);
    const bool is_line = value == nullptr || std::strpbrk(value, "\r\n") == nullptr;
    *static_cast<bool*>(context) &= is_name && is_line && !is_joined;
    return MHD_YES;
  };
  MHD_get_connection_values(connection, MHD_HEADER_KIND, check, &is_valid);
  return is_valid;
}

bool has_one_length(MHD_Connection* connection, const char* version) {
  const std::size_t lengths = count_headers(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  const std::size_t codings = count_headers(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING);
  const char* const coding = header_of(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING);
  const bool is_old = std::strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
  if (codings == 1 && (is_old || strcasecmp(coding, "chunked") != 0)) return false;
  const char* const length = header_of(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return lengths + codings <= 1 && std::strspn(length, "0123456789") == std::strlen(length);
}

std::optional<HttpAnswer> refuse_body(MHD_Connection* connection, std::size_t max_body) {
  const char* const length = header_of(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  if (std::strtoull(length, nullptr, 10) > max_body) {
    return error_answer(
        413, concat("the body has ", length, " bytes, but the server accepts at most ", max_body));
  }
  const char* const coding = header_of(connection, MHD_HTTP_HEADER_CONTENT_ENCODING);
  if (*coding == '\0' || strcasecmp(coding, "identity") == 0) return std::nullopt;
  return error_answer(415, concat("the body has the Content-Encoding ", quote(coding),
                                  ": send it without compression"));
}

bool takes_refused_body(MHD_Connection* connection, const char* version) {
  if (!has_one_length(connection, version)) return false;  // where the body ends is uncertain
  if (count_headers(connection, MHD_HTTP_HEADER_EXPECT) != 0) return false;  // nothing is sent yet
  const char* const length = header_of(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return std::strtoull(length, nullptr, 10) <= kMaxThrownAway;
}

void suspend(MHD_Connection* connection) {
  constexpr unsigned kTimeout = 1 << 20;  // seconds; HttpLimits has the one that counts
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, kTimeout);
  MHD_suspend_connection(connection);
}

std::function<void()> resume(MHD_Connection* connection, const Waker& waker) {
  return [connection, &waker] {
    MHD_resume_connection(connection);
    waker.wake();
  };
}

MHD_Result queue(MHD_Connection* connection, const HttpAnswer& answer,
                 const std::shared_ptr<Reply>& reply, const Headers& more, const Waker& waker) {
  std::unique_ptr<Body> body(new Body{connection, reply, waker});
  MHD_Response* const response =
      MHD_create_response_from_callback(reply->is_stream() ? MHD_SIZE_UNKNOWN : reply->held(),
                                        kBlock, Body::read, body.get(), Body::free);
  if (response == nullptr) return MHD_NO;
  static_cast<void>(body.release());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
  add_headers(response, answer.headers);
  add_headers(response, more);
  const MHD_Result result =
      MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return result;
}

}  // namespace gpt2::serve
