// The main function of the tests. It is a file of its own, because programs that use other parts of
// this library, such as the fuzz targets, have their own.
namespace gpt2::test {
int run_tests(int argc, char* argv[]);
}

int main(int argc, char* argv[]) { return gpt2::test::run_tests(argc, argv); }
