#include "serve/server.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/seconds_since.h"

namespace gpt2::serve {
namespace {

// Returns the time as "2026-01-31T23:59:59.000Z".
std::string time_text(std::chrono::system_clock::time_point time) {
  const auto since_1970 =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = since_1970 / 1000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%03dZ", static_cast<int>(since_1970 % 1000));
  return text;
}

// Returns the line of a log for a request that ends now. It has nothing of the body, the query and
// the headers, so it has no prompts and no keys.
std::string log_line(const HttpRecord& record) {
  constexpr std::size_t kMaxPath = 200;
  const double microseconds = seconds_since(record.begin) * 1e6;
  const nlohmann::ordered_json json = {
      {"time", time_text(std::chrono::system_clock::now())},
      {"id", record.id},
      {"client", record.client},
      {"method", record.method.substr(0, kMaxPath)},
      {"path", record.path.substr(0, kMaxPath)},
      {"status", record.status},
      {"complete", record.is_complete},
      {"seconds", static_cast<double>(static_cast<long>(microseconds)) / 1e6}};
  // In ASCII, because a path may have characters that control a terminal.
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + '\n';
}

constexpr std::chrono::seconds kFarewell{1};  // for sending the errors at the end

HttpLimits limits_of(const ServerOptions& options) {
  HttpLimits limits = options.limits;
  limits.headers = [access = options.service.access](const std::string& origin) {
    return access.cors_headers(origin);
  };
  return limits;
}

ServiceOptions service_options_of(const ServerOptions& options, const Listener& listener) {
  ServiceOptions service = options.service;
  if (listener.is_loopback()) service.access.local_host = options.address.host;
  return service;
}

HttpServer::Note log_of(const ServerOptions& options) {
  if (!options.log) return {};
  return [log = options.log](const HttpRecord& record) {
    try {
      log(log_line(record));
    } catch (const std::bad_alloc&) {  // the line is lost
    }
  };
}

}  // namespace

Server::Server(std::vector<std::unique_ptr<ServedModel>> models, ServerOptions options)
    : options_(std::move(options)),
      listener_(options_.address),
      service_(std::move(models), service_options_of(options_, listener_)),
      http_(
          listener_.descriptor(), limits_of(options_),
          [this](const HttpRequest& request) { return service_.refuse(request); },
          [this](const HttpRequest& request, std::shared_ptr<Reply> reply) {
            service_.handle(request, std::move(reply));
          },
          [this](const HttpRecord& record) { service_.count(record); }, log_of(options_)) {
  service_.set_connections([this] { return http_.connections(); });
}

std::size_t Server::run(const std::function<bool()>& ends) {
  while (!ends()) http_.run(std::chrono::seconds(1));
  http_.stop_accepting();
  listener_.close();
  service_.close();
  const auto is_busy = [this] { return service_.open_requests() + http_.open_requests() != 0; };
  const auto run_until = [&](Clock::time_point end) {
    while (is_busy() && Clock::now() < end) http_.run(std::chrono::milliseconds(50));
  };
  run_until(Clock::now() + options_.grace);
  const std::size_t unanswered = service_.open_requests();
  service_.cut_off();
  // The worker ends when it has computed the pass that is running.
  while (service_.open_requests() != 0) http_.run(std::chrono::milliseconds(50));
  run_until(Clock::now() + kFarewell);
  return std::max(unanswered, http_.open_requests());
}

}  // namespace gpt2::serve
