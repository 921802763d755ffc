#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "requests/read/members.h"
#include "serve/http_server.h"
#include "serve/job.h"
#include "serve/metrics.h"
#include "serve/served_model.h"
#include "serve/worker.h"

namespace gpt2::serve {

/// The keys with which clients may use the server. Without any, every client may.
class ApiKeys {
 public:
  /// Adds a key. Throws Error for one that is empty or has characters that a header cannot have.
  /// `where`: where the key was given, for the message.
  void add(const std::string& key, const std::string& where);

  /// Adds the keys of a file, one a line. Skips empty lines and those that begin with #. Throws
  /// Error if the file cannot be read or has no key.
  void add_file(const std::string& file);

  /// Whether the header "Authorization" has one of the keys: "Bearer KEY". The time does not depend
  /// on how much of a key is right.
  [[nodiscard]] bool admits(std::string_view authorization) const;

  [[nodiscard]] bool empty() const noexcept { return keys_.empty(); }

 private:
  std::vector<std::string> keys_;
};

struct Access {
  ApiKeys keys = {};
  std::string local_host = {};  ///< if only programs on this machine reach the server: its host
  std::vector<std::string> cors = {};  ///< the origins whose pages may use the server, or "*"

  /// Adds an origin. Throws Error for what no browser sends as one.
  void add_origin(const std::string& origin);

  /// The headers with which pages of this origin may read the answer; none unless it is among cors.
  [[nodiscard]] Headers cors_headers(const std::string& origin) const;

  [[nodiscard]] bool admits_host(const std::string& given) const;
  [[nodiscard]] bool admits_origin(const HttpRequest& request) const;
};

struct ServiceOptions {
  std::size_t max_requests = 256;  ///< accepted and not answered; further ones get status 503
  Access access = {};
};

/// What the server answers: OpenAI's API and a few paths of its own.
///
/// Thread safety: one thread at a time calls its functions.
class Service {
 public:
  /// REQUIRES: there is at least one model, and they have different names.
  Service(std::vector<std::unique_ptr<ServedModel>> models, ServiceOptions options);

  /// HttpServer::Gate: refuses what has no valid key, what a page of another origin may have sent,
  /// and what no path or method serves.
  [[nodiscard]] std::optional<HttpAnswer> refuse(const HttpRequest& request) const;

  void handle(const HttpRequest& request, std::shared_ptr<Reply> reply);

  /// Counts a request for /metrics, unless there is no memory for its path and status.
  void count(const HttpRecord& record) noexcept;

  /// Sets the function that counts open connections for /metrics. Without one, they are 0.
  void set_connections(std::function<std::size_t()> connections) {
    connections_ = std::move(connections);
  }

  /// From now on, new work is refused with status 503.
  void close();

  /// Answers what is not complete with an error, which takes some time. REQUIRES: close() has been
  /// called.
  void cut_off() { worker_.cut_off(); }

  /// The number of requests that have not been answered.
  [[nodiscard]] std::size_t open_requests() const { return worker_.jobs(); }

 private:
  using Body = nlohmann::json;
  struct Route;
  [[nodiscard]] static const Route* find_route(const std::string& path);

  HttpAnswer get_page(const HttpRequest& request);
  HttpAnswer get_options(const HttpRequest& request);
  HttpAnswer get_tokenizer_info(const HttpRequest& request);
  HttpAnswer get_models(const HttpRequest& request);
  HttpAnswer get_health(const HttpRequest& request);
  HttpAnswer get_metrics(const HttpRequest& request);
  void run(const RunKind& kind, const HttpRequest& request, const std::shared_ptr<Call>& call);
  [[nodiscard]] ServedModel& model_of(const Body& body);

  const ServiceOptions options_;
  bool is_closed_ = false;
  const std::vector<std::unique_ptr<ServedModel>> models_;
  Metrics metrics_;
  std::function<std::size_t()> connections_;
  Worker worker_;
};

}  // namespace gpt2::serve
