#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "cli/console.h"
#include "gpt2/config.h"
#include "gpt2/tokenizer.h"
#include "gpt2/types.h"

namespace gpt2::cli {

using Arguments = std::vector<std::string>;

/// The exception for invalid arguments. CLI11 throws other classes derived from CLI::ParseError for
/// the mistakes that it finds itself.
using UsageError = CLI::ValidationError;

/// Parses the arguments into the options of `app`. Throws CLI::ParseError if the arguments are
/// invalid. If they ask for help, prints it and throws CLI::Success.
void parse(CLI::App& app, Arguments arguments);

/// Returns the long names of the options that were given.
[[nodiscard]] std::set<std::string> given_options(const CLI::App& app);

/// Reads a decimal number, whatever the locale. Returns false, and may change `value`, unless all
/// of `text` is the number.
template <class Number>
[[nodiscard]] bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Formats a number for messages and help: "1000", "0.8", "1e-06".
template <class Number>
[[nodiscard]] std::string number_text(Number value) {
  if constexpr (std::is_integral_v<Number>) return std::to_string(value);
  return format("%g", static_cast<double>(value));
}

/// Returns the name that messages use for an option with the names "-t,--threads": the last one.
[[nodiscard]] inline std::string shown_name(const std::string& names) {
  return names.substr(names.find(',') + 1);
}

/// Adds an option that takes a number from `low` to `high`, and also 0 if `or_zero`. The current
/// value of `value` is the default, which is shown at the end of the option's help.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& names, Number& value,
                        std::type_identity_t<Number> low, std::type_identity_t<Number> high,
                        const std::string& help, bool or_zero = false) {
  const auto assign = [=, &value](const std::string& text) {
    const bool is_number = read_number(text, value);
    if (is_number && ((value >= low && value <= high) || (or_zero && value == 0))) return;
    const char* const kind = std::is_integral_v<Number> ? "a whole number" : "a number";
    throw UsageError(shown_name(names), std::string("expected ") + (or_zero ? "0 or " : "") + kind +
                                            " from " + number_text(low) + " to " +
                                            number_text(high) + ", found '" + text + "'");
  };
  const std::string text = help + " (default " + number_text(value) + ")";
  return app.add_option_function<std::string>(names, assign, text)->option_text("N");
}

/// Adds an option that takes no value.
CLI::Option* add_switch(CLI::App& app, const std::string& name, bool& value,
                        const std::string& help);

/// Adds -m, --model.
CLI::Option* add_model_option(CLI::App& app, std::string& model);

/// Returns the token ids of a text. If the vocabulary has no tokens for some bytes of the text,
/// prints a note on standard error that says how many.
[[nodiscard]] std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                                          const EncodeOptions& options = {});

/// Parses token ids that are separated by white space or commas. Throws Error for a word that is
/// not a number from 0 to count - 1.
[[nodiscard]] std::vector<TokenId> parse_tokens(std::string text, std::size_t count);

/// Formats token ids as text that parse_tokens() reads: "15496 995".
[[nodiscard]] std::string join(std::span<const TokenId> tokens);

/// Parses the name of a weight type: "f32", "f16", "bf16", "int8" or "int4". Throws UsageError for
/// any other text.
[[nodiscard]] WeightType parse_dtype(const std::string& text);

/// Adds --dtype.
CLI::Option* add_dtype_option(CLI::App& app, WeightType& dtype);

/// Adds --kv.
CLI::Option* add_kv_option(CLI::App& app, KVType& type);

/// Adds -t, --threads.
CLI::Option* add_threads_option(CLI::App& app, int& threads);

/// Adds an option that takes the name of a file.
CLI::Option* add_file(CLI::App& app, const std::string& names, std::string& file,
                      const std::string& help);

/// Adds --text.
CLI::Option* add_text_option(CLI::App& app, std::string& file);

}  // namespace gpt2::cli
