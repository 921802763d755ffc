#pragma once

#include <future>
#include <optional>
#include <string>

#include "cli/generate/settings.h"
#include "gpt2/generate.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

/// What drafts the tokens of a talk.
struct TalkDraft {
  std::optional<Model> model;
  std::shared_future<Model> pending;  ///< as in GenerationOptions
};

/// `gpt2 --interactive`: reads line after line from standard input and continues the session's text
/// after each of them, until the input ends. `line`, if any, is the first one.
///
/// On a terminal, an error is printed and the next line is read. Otherwise it is thrown, and the
/// message has the number of the line.
void talk(const GenerateSettings& settings, const Tokenizer& tokenizer, Session session,
          const TalkDraft& draft, std::optional<std::string> line);

}  // namespace gpt2::cli
