# One object library per instruction set: the only files compiled for more than the baseline. They
# include nothing but their vector header, so no shared inline function can be compiled for a newer
# CPU and win at link time; tests/isa_symbols_test.cmake inspects the objects.
