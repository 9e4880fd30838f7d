// The program npar. Installed, it is this file alone: everything else is in libnpar_compiler.
extern "C" int npar_driver_main(int argc, char **argv);

int main(int argc, char **argv) { return npar_driver_main(argc, argv); }
