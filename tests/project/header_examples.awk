# Turns the examples in a public header into a source file: awk -f header_examples.awk HEADER >FILE
#
# An example begins after a comment line "Example:" and ends where the comment ends. The source file
# includes the header first, which shows that the header compiles on its own. A header without an
# example is an error. The examples of gpt2.h are in C, and so is its source file.

FNR == 1 {
  header = FILENAME
  sub(/.*\/include\//, "", header)
  print "#include <" header ">"
}

FNR == 1 && header == "gpt2/gpt2.h" {
  print "#include <stdio.h>\n#include <stdlib.h>"
  print "extern const gpt2_model* model;\nextern const gpt2_tokenizer* tokenizer;"
  print "extern gpt2_session *session, *session_b;"
  print "int on_observation(void* user, const gpt2_observation* seen);"
  parameters = "void"
}

FNR == 1 && header != "gpt2/gpt2.h" {
  print "#include <gpt2/generate.h>\n#include <gpt2/layer_norm.h>\n#include <gpt2/runtime.h>"
  print "#include <cstdio>\n#include <iostream>\n#include <mutex>\n#include <vector>"
  print "using namespace gpt2;"
  print "extern const Model& model;\nextern const Tokenizer& tokenizer;"
}

/^ *\/\/\/ Example:$/ {
  name = "example_" ++examples
  if (parameters) print "void " name "(" parameters ");"
  print "void " name "(" parameters ") {"
  inside = 1
  next
}

inside && /^ *\/\/\/   / {
  sub(/^ *\/\/\/   /, "")
  print
  next
}

inside {
  print "}"
  inside = 0
}

END {
  if (examples == 0) {
    print header ": no example" >"/dev/stderr"
    exit 1
  }
}
