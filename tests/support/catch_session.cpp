// Catch2's own code, for Catch2 3 and for 2.13.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

namespace gpt2::test {

int run_tests(int argc, char* argv[]) { return Catch::Session().run(argc, argv); }

}  // namespace gpt2::test
