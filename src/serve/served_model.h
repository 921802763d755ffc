#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "gpt2/engine.h"
#include "gpt2/scheduler.h"
#include "gpt2/tokenizer.h"
#include "requests/read/completion_request.h"

namespace gpt2::serve {

/// What GET /tokenizer_info answers, with vLLM's members: "tokenizer_class", "bos_token",
/// "eos_token", "pad_token" and "chat_template", null where there is none. lm-evaluation-harness
/// asks for them with tokenizer_backend=remote.
struct TokenizerInfo {
  Json answer = nullptr;  ///< null without a tokenizer
  bool has_chat_template = false;
};

/// Reads the class and the template from the files beside `path`, the place of the tokenizer.
/// Throws Error if a file cannot be read.
[[nodiscard]] TokenizerInfo tokenizer_info(const std::optional<Tokenizer>& tokenizer,
                                           const Config& config, const std::filesystem::path& path);

struct ServedModel {
  ServedModel(std::string id, Engine computes, std::optional<Tokenizer> texts,
              const SchedulerOptions& options)
      : name(std::move(id)),
        engine(std::move(computes)),
        tokenizer(std::move(texts)),
        config(engine.model().config()),
        scheduler(engine, options),
        beam_memory(options.max_memory) {}

  std::string name;  ///< by which requests choose it
  Engine engine;
  std::optional<Tokenizer> tokenizer;  ///< without one, requests have token ids
  Config config;
  Scheduler scheduler;      ///< used by the worker alone
  std::size_t beam_memory;  ///< that a beam search may take, in bytes: as much as the scheduler
  ChatForm chat = ChatForm::transcript;
  nlohmann::json defaults = nlohmann::json::object();  ///< of requests; as in RequestContext
  std::int64_t created = 0;               ///< when its files were written, in seconds since 1970
  std::vector<std::string> command = {};  ///< a command that writes the texts of the same model
  TokenizerInfo tokenizer_info = {};
  std::string fingerprint = {};  ///< a hash of the config, the tokens, the logits of a short text
                                 ///< and the form of chats

  /// Whether the files have a template for chats. It is a program, which is not run; for models in
  /// the dialog form, it would make the same tokens.
  [[nodiscard]] bool has_unused_chat_template() const {
    return chat == ChatForm::transcript && tokenizer_info.has_chat_template;
  }

  [[nodiscard]] RequestContext context() const {
    RequestContext context = {tokenizer, config, defaults};
    context.chat = chat;
    return context;
  }
};

}  // namespace gpt2::serve
