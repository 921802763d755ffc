// Tests the tokenizer of characters in nanoGPT's meta.pkl.
#include <filesystem>
#include <string>
#include <vector>

#include "gpt2/tokenizer.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"
#include "support/torch_file.h"

namespace gpt2::test::nanogpt_meta_test {

namespace {

// What Python's pickle.dumps() makes of the meta of prepare.py for "To be, or not to be:\n\u00e9",
// with the default protocol of Python 3.8 to 3.13.
const std::string kMeta(
    "\200\004\225\243\000\000\000\000\000\000\000}\224(\214\012vocab_size\224K\014\214\004itos\224"
    "}\224(K\000\214\001\012\224K\001\214\001 \224K\002\214\001,\224K\003\214\001:\224K\004\214\001"
    "T\224K\005\214\001b\224K\006\214\001e\224K\007\214\001n\224K\010\214\001o\224K\011\214\001r"
    "\224K\012\214\001t\224K\013\214\002\303\251\224u\214\004stoi\224}\224(h\004K\000h\005K\001h"
    "\006K\002h\007K\003h\010K\004h\011K\005h\012K\006h\013K\007h\014K\010h\015K\011h\016K\012h"
    "\017K\013uu.",
    174);

}  // namespace

TEST_CASE("each character of meta.pkl is a token") {
  const TemporaryDirectory directory;
  directory.write("meta.pkl", kMeta);
  const Tokenizer tokenizer = Tokenizer::load(directory.path());
  CHECK(tokenizer.size() == 12);
  const std::vector<TokenId> ids = {4, 8, 1, 5, 11, 0};
  CHECK(tokenizer.encode("To b\u00e9\n") == ids);
  CHECK(tokenizer.decode(ids) == "To b\u00e9\n");
}

TEST_CASE("refused: a meta.pkl without characters by their ids") {
  const TemporaryDirectory directory;
  for (const std::string& root :
       {std::string("N"), py_dict({{"stoi", "}"}}), py_dict({{"itos", "]"}}),
        py_dict({{"itos", py_dict({{"a", "K\1"}})}}), kProto2}) {
    CAPTURE(root);
    directory.write("meta.pkl", root + ".");
    check_refused([&] { (void)Tokenizer::load(directory.path()); }, {"meta.pkl"});
  }
}

}  // namespace gpt2::test::nanogpt_meta_test
