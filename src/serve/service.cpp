#include "serve/service.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "base/json.h"
#include "requests/answer/completion.h"
#include "requests/answer/own_form.h"
#include "requests/read/members.h"
#include "serve/page_template.h"

namespace gpt2::serve {
namespace {

constexpr std::string_view kModels = "/v1/models";

// Thrown for a model that the server does not have.
struct UnknownModel {
  std::string message;
};

Json describe(const ServedModel& model) {
  Json json = {{"id", model.name},
               {"object", "model"},
               {"created", model.created},
               {"owned_by", "gpt2.cpp"},
               {"max_model_len", model.config.n_positions},
               {"has_unused_chat_template", model.has_unused_chat_template()},
               {"command", model.command}};
  json.add_members_of(model_json(model.engine.model()));
  return json;
}

// The page has its own script and style in it. Pages of gpt2 inspect, which it opens, inherit this
// policy and have theirs, too; therefore the policy names no hashes.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

// Returns the JSON object in a body.
JsonDocument<nlohmann::json> parse_body(const std::string& text) {
  JsonDocument<nlohmann::json> body;
  parse_object(body.root, text, "the body");
  return body;
}

}  // namespace

struct Service::Route {
  std::string_view path;
  std::string_view method;
  HttpAnswer (Service::*answer)(const HttpRequest&);  // at once
  const RunKind* kind = nullptr;                      // or of the run that answers
  bool is_open = false;                               // whether it needs no key
};

const Service::Route* Service::find_route(const std::string& path) {
  static const std::vector<Route> kRoutes = [] {
    std::vector<Route> routes = {
        {kModels, "GET", &Service::get_models},
        {"/metrics", "GET", &Service::get_metrics},
        {"/health", "GET", &Service::get_health, nullptr, /*is_open=*/true},
        {"/", "GET", &Service::get_page, nullptr, /*is_open=*/true},
        {"/options", "GET", &Service::get_options},
        {"/tokenizer_info", "GET", &Service::get_tokenizer_info},
    };
    for (const RunKind& kind : run_kinds()) {
      if (!kind.path.empty()) routes.push_back({kind.path, "POST", nullptr, &kind});
    }
    return routes;
  }();
  const std::string_view wanted = path.starts_with(concat(kModels, "/")) ? kModels : path;
  const auto route = std::ranges::find(kRoutes, wanted, &Route::path);
  return route == kRoutes.end() ? nullptr : &*route;
}

Service::Service(std::vector<std::unique_ptr<ServedModel>> models, ServiceOptions options)
    : options_(std::move(options)),
      models_(std::move(models)),
      worker_(models_, options_.max_requests) {}

std::optional<HttpAnswer> Service::refuse(const HttpRequest& request) const {
  if (!options_.access.admits_host(request.host)) {
    return json_answer(
        403, error_json(
                 concat("the host ", quote(request.host, 100),
                        " is unknown: use localhost or an IP address; the server's option "
                        "--cors allows ",
                        quote("http://" + request.host, 110), ", and with API keys, it takes any"),
                 "invalid_request_error", "unknown_host"));
  }
  if (!options_.access.admits_origin(request)) {
    return error_answer(403, concat("pages of ", quote(request.origin, 100),
                                    " may not use this server; its option --cors allows an "
                                    "origin"));
  }
  if (request.method == "OPTIONS" && !options_.access.cors.empty())
    return HttpAnswer{.status = 204};
  const Route* const route = find_route(request.path);
  if (!(route != nullptr && route->is_open) &&
      !options_.access.keys.admits(request.authorization)) {
    HttpAnswer answer = json_answer(
        401, error_json("expected the header \"Authorization: Bearer KEY\" with a key of this "
                        "server",
                        "invalid_request_error", "invalid_api_key"));
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  if (route == nullptr) {
    return json_answer(
        404, error_json(concat("no such path: ", request.method, " ", quote(request.path, 100)),
                        "invalid_request_error", "unknown_url"));
  }
  if (request.method != route->method) {
    HttpAnswer answer =
        error_answer(405, concat(route->path, " expects the method ", route->method));
    answer.headers.emplace_back("Allow", route->method);
    return answer;
  }
  return std::nullopt;
}

void Service::handle(const HttpRequest& request, std::shared_ptr<Reply> reply) {
  const Route& route = *find_route(request.path);
  const auto call = std::make_shared<Call>(request.id, std::move(reply), metrics_);
  try {
    if (route.kind != nullptr) return run(*route.kind, request, call);
    call->send((this->*route.answer)(request));
  } catch (const UnknownModel& unknown) {
    call->send(404, error_json(unknown.message, "invalid_request_error", "model_not_found"));
  } catch (...) {
    call->fail(std::current_exception());
  }
}

void Service::count(const HttpRecord& record) noexcept {
  try {
    const Route* const route = find_route(record.path);
    metrics_.count_request(route == nullptr ? "other" : std::string(route->path), record.status);
  } catch (const std::bad_alloc&) {
  }
}

void Service::close() {
  is_closed_ = true;
  worker_.close();
}

// The page is made of the files in page/.
HttpAnswer Service::get_page(const HttpRequest&) {
  HttpAnswer answer = {.content_type = "text/html; charset=utf-8",
                       .headers = {{"Content-Security-Policy", kPolicy},
                                   {"X-Content-Type-Options", "nosniff"},
                                   {"Referrer-Policy", "no-referrer"},
                                   {"Cache-Control", "no-cache"}}};
  for (const std::string_view piece : kPageTemplate) answer.body += piece;
  return answer;
}

HttpAnswer Service::get_options(const HttpRequest&) {
  return json_answer(200, {{"options", option_list(/*is_own=*/false, models_.front()->defaults)}});
}

HttpAnswer Service::get_models(const HttpRequest& request) {
  if (request.path != kModels) {
    const std::string name = request.path.substr(kModels.size() + 1);
    return json_answer(200, describe(model_of({{"model", name}})));
  }
  Json list = Json::array();
  for (const auto& model : models_) list.push_back(describe(*model));
  return json_answer(200, {{"object", "list"}, {"data", list}});
}

HttpAnswer Service::get_tokenizer_info(const HttpRequest&) {
  const ServedModel& model = *models_.front();
  if (!model.tokenizer) reject("the model ", model.name, " has no tokenizer");
  return json_answer(200, model.tokenizer_info.answer);
}

HttpAnswer Service::get_health(const HttpRequest&) {
  return json_answer(is_closed_ ? 503 : 200, {{"status", is_closed_ ? "ending" : "ok"}});
}

HttpAnswer Service::get_metrics(const HttpRequest&) {
  Gauges gauges = worker_.gauges();
  if (connections_) gauges.connections = connections_();
  return {.body = metrics_.text(gauges), .content_type = "text/plain; version=0.0.4"};
}

void Service::run(const RunKind& kind, const HttpRequest& request,
                  const std::shared_ptr<Call>& call) {
  const auto body = parse_body(request.body);
  ServedModel& model = model_of(body.root);
  Request read = kind.read(body.root, model.context());
  const std::size_t bytes = held_bytes(read, model);
  call->id = kind.id_prefix + request.id;
  auto job = std::make_unique<Job>(kind, std::move(read), model, call);
  call->before_end = [this, bytes] { worker_.release(bytes); };
  if (worker_.submit(job, bytes)) return;
  call->before_end = nullptr;
  call->send(busy_answer("the server is busy or about to end"));
}

// A request that names no model is for the first one.
ServedModel& Service::model_of(const Body& body) {
  const auto name = Members(body).text("model");
  for (const auto& model : models_) {
    if (!name || model->name == *name) return *model;
  }
  std::string names;
  for (const auto& model : models_) names += (names.empty() ? "" : ", ") + model->name;
  throw UnknownModel{concat("model: expected ", names, ", found ", quote(*name, 100),
                            ": the server's option -m NAME=MODEL gives a model another name")};
}

}  // namespace gpt2::serve
