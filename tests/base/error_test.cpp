#include "gpt2/error.h"

#include <string>

#include "gpt2/model.h"
#include "gpt2/tokenizer.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace gpt2::test::error_test {

TEST_CASE("an error has its code and its message") {
  const Error error(ErrorCode::unsupported, "f: version 7; expected 1, \u00e9");
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK(error.what() == std::string("f: version 7; expected 1, \u00e9"));
}

TEST_CASE("a message is one printable line, whatever text it is made from") {
  const auto message = [](const char* text) {
    return std::string(Error(ErrorCode::invalid_file, text).what());
  };
  CHECK(message("a\nb\r\tc") == "a b  c");
  CHECK(message("\x1b[31mred\x7f") == " [31mred ");
  CHECK(message("\xff\xe4\xb8|\u202e") == "  | ");
}

TEST_CASE("control characters in a path do not reach the terminal") {
  CHECK(refusal_of([] { (void)gpt2::Model::load("/no/a\nb\x1b"); }) ==
        "/no/a b : no such file or directory");
  CHECK(refusal_of([] { (void)gpt2::Tokenizer::load("/no/a\nb\x1b"); }).starts_with("/no/a b : "));
}

}  // namespace gpt2::test::error_test
