#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fail.h"
#include "gpt2/config.h"
#include "gpt2/dtype.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

using Arguments = std::vector<std::string>;

/// Arguments that make no sense are a CLI::ParseError, whoever finds out; this is ours.
using UsageError = CLI::ValidationError;

/// Reads the arguments into the options of `app`. Throws CLI::ParseError; CLI::Success where they
/// asked for help, once it is printed.
void parse(CLI::App& app, Arguments arguments);

/// The name that was probably meant by `word`: one of which it is the beginning, or that differs in
/// no more than a third of its letters; or "".
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> names);

/// An option that takes a number from `low` to `high`, `or_zero`. Its help ends in the value it has
/// now, the default.
template <class Number>
void add_number(CLI::App& app, const std::string& name, Number& value,
                std::type_identity_t<Number> low, std::type_identity_t<Number> high,
                const std::string& help, bool or_zero = false) {
  const auto assign = [=, &value](const std::string& text) {
    const bool is_number = read_number(text, value);
    if (is_number && ((value >= low && value <= high) || (or_zero && value == 0))) return;
    const char* const kind = std::is_integral_v<Number> ? "a whole number" : "a number";
    throw UsageError(name, concat("expected ", or_zero ? "0 or " : "", kind, " from ", low, " to ",
                                  high, ", found '", text, "'"));
  };
  const std::string text = concat(help, " (default ", value, ")");
  app.add_option_function<std::string>(name, assign, text)->option_text("N");
}

/// An option without a value.
CLI::Option* add_switch(CLI::App& app, const std::string& name, bool& value,
                        const std::string& help);

/// -m, --model
CLI::Option* add_model_option(CLI::App& app, std::string& model);

/// The token ids of a text. Says on standard error how much of it the vocabulary cannot spell.
[[nodiscard]] std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text);

/// The token ids in a text, separated by white space or commas. Throws Error for what is none, or
/// for an id of `count` or more.
[[nodiscard]] std::vector<TokenId> parse_tokens(std::string text, std::size_t count);

/// The same back: "15496 995"
[[nodiscard]] std::string join(std::span<const TokenId> tokens);

/// "f32" ... "int4". Throws UsageError.
[[nodiscard]] WeightType parse_dtype(const std::string& text);

/// --dtype
CLI::Option* add_dtype_option(CLI::App& app, WeightType& dtype);

/// --text
CLI::Option* add_text_option(CLI::App& app, std::string& file);

}  // namespace gpt2::cli
