// The extension is loaded with ctypes; this empty module only satisfies the build's expectation of an entry point.
#include <Python.h>

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Compiled kernels of Shoal.", -1, nullptr,
                                        nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&definition); }
