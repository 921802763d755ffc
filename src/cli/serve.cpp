#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/model.h"
#include "cli/options/request_options.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "gpt2/runtime.h"
#include "serve/server.h"

namespace gpt2::cli {
namespace {

constexpr const char* kServeDetails =
    R"(The server answers OpenAI's API: POST /v1/completions, /v1/chat/completions, /v1/responses
and /v1/embeddings, GET /v1/models; besides, POST /tokenize, /detokenize and /inspect, GET /options,
/health and /metrics. In a browser, its address is a page in which the model writes.

Each text is the one that gpt2 generate writes with the same options, whatever else the server does;
without a seed, it has seed 0. Every option that GET /options shows can be set by its name; the
options above are the defaults, and what a request says wins.

Ctrl-C or SIGTERM ends the server: it refuses new requests, and answers those that it has.

Examples:
  gpt2 serve
  gpt2 serve -m gpt2 --dtype int8 --port 8000
  gpt2 serve -m gpt-3.5-turbo=gpt2-stories --port 0
  gpt2 serve --temperature 0.5 --seed random
  curl localhost:8080/v1/completions -d '{"prompt": "Once", "seed": 1}')";

struct ServeSettings {
  ModelSettings model;
  std::vector<std::string> models;
  std::optional<ChatForm> chat;                        // not set: that of the model's config
  nlohmann::json defaults = nlohmann::json::object();  // of requests
  bool has_hf_defaults = false;
  std::string key_file;
  unsigned idle_timeout = 60;
  unsigned grace = 30;
  SchedulerOptions scheduler;
  serve::ServerOptions server;
};

void add_address_options(Options& options, ServeSettings& settings) {
  serve::ListenAddress& address = settings.server.address;
  serve::Access& access = settings.server.service.access;
  options.begin_group("Clients");
  options.add_text("--host", "ADDRESS", address.host,
                   "Listen on this address; 0.0.0.0: on all of this machine (default: 127.0.0.1, "
                   "which only programs on this machine can reach)");
  options.add_number("--port", address.port, {0, 65535},
                     "Listen on this port; 0: any that is free");
  options
      .add("--api-key", "KEY",
           "Serve only clients that give this key; may be repeated. Also set by GPT2_API_KEY, "
           "which other users of the machine cannot see",
           [&access](const std::string& key) { access.keys.add(key, "--api-key"); })
      .is_repeatable = true;
  options.add_file(
      "--api-key-file", settings.key_file,
      "Serve only clients with a key of FILE: one a line, but for empty lines and those that begin "
      "with #");
  options
      .add("--cors", "ORIGIN",
           "Let pages of this origin use the server; *: all pages; may be repeated",
           [&access](const std::string& origin) { access.add_origin(origin); })
      .is_repeatable = true;
  options.add("--log-requests", "",
              "Write a line for each request to standard error, as JSON, without prompts and keys",
              [&settings](const std::string&) { settings.server.log = write_stderr; });
}

void add_limit_options(Options& options, ServeSettings& settings) {
  options.begin_group("Limits");
  serve::ServerOptions& server = settings.server;
  options.add_number("--parallel", settings.scheduler.max_sequences, {1, 1024},
                     "Write N texts at once; further ones wait");
  options.add_number("--max-requests", server.service.max_requests, {1, 1e6},
                     "Refuse requests with status 503 while N are open");
  options.add_number("--max-body", server.limits.max_body, {1024, 1e9},
                     "Refuse requests with more bytes");
  options.add_number("--idle-timeout", settings.idle_timeout, {1, 1e6},
                     "Close a connection that for N seconds sends no whole request, or does not "
                     "take its answer");
  options.add_number("--grace", settings.grace, {0, 1e6},
                     "When the server ends, cut off after N seconds what is not answered");
}

ServeSettings read_serve_settings(const Arguments& arguments) {
  ServeSettings settings;
  Options options("gpt2 serve", "Answers OpenAI's API over HTTP", kServeDetails);
  add_model_options(options, settings.model);
  Option& model = options.at("--model");
  model.is_repeatable = true;
  model.form = "[NAME=]MODEL";
  model.help += "; may be repeated. Requests choose it by NAME, by default the last part of MODEL";
  model.set = [&settings, set = model.set](const std::string& text) {
    set(text);
    settings.models.push_back(text);
  };
  options.add_choice("--chat", "auto|dialog|transcript",
                     "What the messages of a chat become: dialog: DialoGPT's turns; transcript: "
                     "lines that begin with User: and Assistant:; auto (default): dialog if the "
                     "model's config is that of a dialog model",
                     [&settings](const std::string& name) {
                       if (name == "dialog") settings.chat = ChatForm::dialog;
                       if (name == "transcript") settings.chat = ChatForm::transcript;
                     });
  options.add("--no-mmap", "",
              "Read the weights into memory at once: for files that may be "
              "replaced or shortened while the server runs",
              [&settings](const std::string&) { settings.model.use_mmap = false; });
  add_address_options(options, settings);
  add_limit_options(options, settings);
  options.begin_group("Defaults of requests");
  add_hf_defaults(options, settings.has_hf_defaults);
  add_writing_options(options, settings.defaults, /*of_one_text=*/false);
  options.at("--max-new-tokens").help += "; without this option, 16 for completions";
  options.at("--seed").help += "; random: another one for each request";
  options.parse(arguments);
  if (settings.models.empty()) settings.models.push_back(settings.model.name);
  serve::ServiceOptions& service = settings.server.service;
  if (!settings.key_file.empty()) service.access.keys.add_file(settings.key_file);
  // An empty key is refused, because a secret that is missing must not open the server.
  const char* const key = std::getenv("GPT2_API_KEY");
  if (key != nullptr) service.access.keys.add(key, "GPT2_API_KEY");
  settings.server.limits.idle_time = std::chrono::seconds(settings.idle_timeout);
  settings.server.grace = std::chrono::seconds(settings.grace);
  return settings;
}

// Splits "NAME=MODEL". Without a name, it is the last part of the path or of the name on the hub.
std::pair<std::string, std::string> name_of_model(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals + 1 == text.size()) {
    throw UsageError("--model", "expected NAME=MODEL, found " + quote(text));
  }
  if (equals != text.npos && !std::filesystem::exists(text))
    return {text.substr(0, equals), text.substr(equals + 1)};
  const std::size_t end = text.find_last_not_of('/');
  const std::size_t begin = text.find_last_of('/', end);
  return {text.substr(begin + 1, end - begin), text};
}

std::int64_t seconds_of(std::filesystem::file_time_type time) {
  const auto system = std::chrono::file_clock::to_sys(time);
  return std::chrono::duration_cast<std::chrono::seconds>(system.time_since_epoch()).count();
}

// Returns a command that writes the texts of a served model.
std::vector<std::string> command_of(const ModelSettings& model) {
  std::vector<std::string> command = {"gpt2", "generate", "-m", model.name};
  if (!model.base.empty()) command.insert(command.end(), {"--base", model.base});
  if (!model.tokenizer.empty()) {
    command.insert(command.end(), {"--tokenizer", model.tokenizer});
  }
  if (model.dtype != WeightType::stored) {
    command.insert(command.end(), {"--dtype", std::string(name_of(model.dtype))});
  }
  if (model.engine.kv_type != KVType::automatic) {
    command.insert(command.end(), {"--kv", std::string(name_of(model.engine.kv_type))});
  }
  return command;
}

// Sets the defaults of the model's requests, and reads a request with them, so that a wrong one is
// refused now. HuggingFace's max_length does not count, because it would refuse prompts that are
// longer, and neither does the number of texts.
void set_defaults(serve::ServedModel& served, const ServeSettings& settings,
                  const std::filesystem::path& model) {
  if (settings.has_hf_defaults) {
    served.defaults = hf_defaults_without_beams(model);
    for (const char* const name : {"max_length", "num_return_sequences"}) {
      served.defaults.erase(name);
    }
  }
  merge_request(served.defaults, settings.defaults);
  const nlohmann::json request = {{"prompt", {0}}};
  read_arguments(settings.defaults,
                 [&] { return read_completion_request(request, served.context()); });
}

std::unique_ptr<serve::ServedModel> load_served(const ServeSettings& settings,
                                                const std::string& text, std::size_t models) {
  ModelSettings of_model = settings.model;
  const auto [name, model] = name_of_model(text);
  of_model.name = model;
  of_model.find();
  std::optional<Tokenizer> tokenizer = find_tokenizer(of_model);
  const Engine engine(load_model(of_model), of_model.engine);
  if (tokenizer) tokenizer->require_match(engine.model().config());
  const Config& config = engine.model().config();
  SchedulerOptions scheduler = settings.scheduler;
  // Each scheduler has a share, and the beam search has one, because only one runs at a time.
  scheduler.max_memory =
      std::max(available_memory() / 2 / (models + 1),
               Session::memory_bytes(config, engine.kv_type(), config.n_positions));
  auto served = std::make_unique<serve::ServedModel>(name, engine, std::move(tokenizer), scheduler);
  set_defaults(*served, settings, of_model.places.config);
  served->chat = settings.chat ? *settings.chat : chat_form_of(of_model.places.config);
  served->tokenizer_info =
      serve::tokenizer_info(served->tokenizer, config, of_model.places.tokenizer);
  if (served->has_unused_chat_template()) {
    print_error(concat(name,
                       ": the model's chat_template is not used: chats become a transcript, "
                       "as --chat says"));
  }
  served->command = command_of(of_model);
  served->created = seconds_of(last_write_time(of_model.path));
  const char* const chat = served->chat == ChatForm::dialog ? "dialog" : "transcript";
  served->fingerprint =
      "gpt2_" + hash_text(hash_bytes(chat, hash_of_model(engine, served->tokenizer)));
  return served;
}

}  // namespace

int serve(const Arguments& arguments) {
  const ServeSettings settings = read_serve_settings(arguments);
  // Before the models are loaded, because in process 1 of a container, signals have no default
  // action.
  note_interrupts();
  std::vector<std::unique_ptr<serve::ServedModel>> models;
  for (const std::string& model : settings.models) {
    models.push_back(load_served(settings, model, settings.models.size()));
    end_if_interrupted();
    for (std::size_t i = 0; i + 1 < models.size(); ++i) {
      if (models[i]->name != models.back()->name) continue;
      throw UsageError("--model", "two models are called " + quote(models[i]->name) +
                                      ": name one of them, as in -m NAME=MODEL");
    }
  }
  serve::Server server(std::move(models), settings.server);
  write_stdout(server.url() + '\n');
  if (!server.is_loopback() && settings.server.service.access.keys.empty()) {
    print_error(
        "every program that reaches this machine may use the server: --api-key-file gives "
        "it keys");
  }
  if (!progress_is_silent())
    print_error(concat("serving ", counted(settings.models.size(), "model"),
                       "; Ctrl-C or SIGTERM ends it"));
  const std::size_t unanswered = server.run(interrupted);
  obey_interrupt();
  if (unanswered == 0) return 0;
  print_error("ended with " + counted(unanswered, "request") + " without a complete answer");
  return 1;
}

}  // namespace gpt2::cli
