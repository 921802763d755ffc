#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/names.h"
#include "gpt2/model.h"
#include "gpt2/scheduler.h"
#include "gpt2/tokenizer.h"
#include "model/loading/weight_stream.h"
#include "requests/answer/own_form.h"
#include "requests/read/members.h"
#include "requests/run/run.h"

// The functions of gpt2.wasm, which gpt2.mjs calls. A module has one model. A function is given
// what gpt2.mjs wrote to gpt2_web_room(). Its answer is at gpt2_web_text(): JSON, which for an
// error is {"error": {"message", ...}}.

namespace gpt2::web {
namespace {

std::string given;  // to a function
std::string text;   // its answer

/// Calls f, which may set the answer. It is {} otherwise.
template <class F>
void answer(const F& f) noexcept {
  try {
    text = "{}";
    f();
  } catch (const Error& error) {
    text = error_json(error).text();
  } catch (const std::bad_alloc&) {
    text = R"({"error": {"message": "there is not enough memory", "code": "out_of_memory"}})";
  } catch (const std::exception& error) {
    text = error_json(error.what(), "server_error").text();
  }
}

JsonDocument<nlohmann::json> parse(std::string_view body) {
  JsonDocument<nlohmann::json> request;
  parse_object(request.root, body, "the request");
  return request;
}

// A file of the model, which uses it in place.
struct PageFile {
  std::string name;
  std::string data = {};                     // of a file that stays as it is
  std::optional<WeightStream> weights = {};  // of one that is quantized as it arrives
};

std::vector<PageFile> files;

/// Begins a file: {"name", "size", "dtype"}. The size may be wrong. The dtype is what its weights
/// become as they arrive, int8 or int4, or "".
void begin_file() {
  const auto request = parse(given);
  PageFile file = {.name = request.root.at("name").get<std::string>()};
  const auto dtype = request.root.at("dtype").get<std::string>();
  if (dtype.empty()) {
    file.data.reserve(request.root.at("size").get<std::size_t>());
  } else {
    file.weights.emplace(weight_type_named(dtype).value());
  }
  files.push_back(std::move(file));
}

/// Takes the next bytes of the file that was begun last.
void add() {
  if (files.back().weights) {
    files.back().weights->add(bytes_of_text(given));
  } else {
    files.back().data.append(given);
  }
}

// Returns the files. If weights were quantized as they arrived, their config.json becomes the text
// `config`.
std::vector<MemoryFile> memory_files(WeightType dtype, std::string& config) {
  std::vector<MemoryFile> list;
  bool is_quantized = false;
  for (const auto& [name, data, weights] : files) {
    list.push_back({.name = name, .bytes = weights ? weights->finish() : bytes_of_text(data)});
    is_quantized = is_quantized || (weights && weights->is_quantized());
  }
  for (MemoryFile& file : list) {
    if (!is_quantized || file.name != "config.json") continue;
    config = quantized_config(text_of(file.bytes), dtype);
    file.bytes = bytes_of_text(config);
  }
  return list;
}

struct PageModel {
  Engine engine;
  std::optional<Tokenizer> tokenizer;
  std::string name;
  Scheduler scheduler{engine, {}};
};

std::unique_ptr<PageModel> model;

/// Opens the model of the files: {"name", "dtype", "tokenizer"}.
void open() {
  const auto request = parse(given);
  const auto dtype = weight_type_named(request.root.at("dtype").get<std::string>());
  if (!dtype) reject("dtype: expected ", listed_names<WeightType>());
  std::string config;
  const auto list = memory_files(*dtype, config);
  const Engine engine(Model::load(list, {.dtype = *dtype}), {.threads = 1});
  std::optional<Tokenizer> tokenizer;
  if (request.root.at("tokenizer").get<bool>()) {
    tokenizer = Tokenizer::load(list);
    tokenizer->require_match(engine.model().config());
  }
  model.reset(
      new PageModel{engine, std::move(tokenizer), request.root.at("name").get<std::string>()});
}

/// Answers what the model is and what a request can ask for.
void describe() {
  Json json = {{"name", model->name}, {"options", option_list(/*is_own=*/false)}};
  json.add_members_of(model_json(model->engine.model()));
  text = json.text();
}

struct PageRun {
  std::unique_ptr<Run> run = {};
  Json events = Json::array();  // since the last step
};

RunEvents events_of(PageRun& run) {
  RunEvents events;
  events.on_piece = [&run](std::size_t index, const CompletionPiece& piece) {
    Json event = {{"index", index}, {"text", piece.text}};
    if (piece.token) event.add("token_id", *piece.token);
    run.events.push_back(event);
    return true;
  };
  events.on_progress = [&run](double share) { run.events.push_back(Json{{"progress", share}}); };
  return events;
}

/// Begins a run. What is given is its kind on the first line, and then the request. Answers
/// {"run"}.
void begin() {
  const std::size_t end_of_kind = given.find('\n');
  const RunKind& kind = run_kind(given.substr(0, end_of_kind));
  const RequestContext context = {model->tokenizer, model->engine.model().config()};
  auto run = std::make_unique<PageRun>();
  run->run = make_run(kind, kind.read(parse(given.substr(end_of_kind + 1)).root, context),
                      {model->engine,
                       model->scheduler,
                       model->tokenizer,
                       {.id = kind.id_prefix + std::string("web"), .model = model->name}},
                      events_of(*run));
  text = Json{{"run", reinterpret_cast<std::uintptr_t>(run.get())}}.text();
  run.release();
}

/// Goes on with a run, and answers {"events", "parts"}: what is new. If it has finished, there is
/// its "answer", too.
void step(PageRun& run) {
  const bool goes_on = run.run->step();
  Json news = {{"events", std::exchange(run.events, Json::array())},
               {"parts", run.run->take_parts()}};
  if (!goes_on) news.add("answer", run.run->json());
  text = news.text();
}

}  // namespace

extern "C" {

/// Room for what the next function is given, or nullptr if there is none.
[[gnu::used]] char* gpt2_web_room(std::size_t size) {
  answer([&] { given.resize(size); });
  return given.size() == size ? given.data() : nullptr;
}

[[gnu::used]] const char* gpt2_web_text() { return text.data(); }
[[gnu::used]] std::size_t gpt2_web_size() { return text.size(); }

[[gnu::used]] void gpt2_web_file() { answer(begin_file); }
[[gnu::used]] void gpt2_web_add() { answer(add); }
[[gnu::used]] void gpt2_web_open() { answer(open); }
[[gnu::used]] void gpt2_web_describe() { answer(describe); }
[[gnu::used]] void gpt2_web_begin() { answer(begin); }
[[gnu::used]] void gpt2_web_step(PageRun* run) {
  answer([&] { step(*run); });
}
[[gnu::used]] void gpt2_web_end(PageRun* run) { delete run; }

}  // extern "C"
}  // namespace gpt2::web
