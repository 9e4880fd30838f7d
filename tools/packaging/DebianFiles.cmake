# CPack runs this before it makes packages: files at the places and in the forms that Debian's policy asks for.
cmake_minimum_required(VERSION 3.24) # of policies
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
find_program(GZIP gzip REQUIRED)

function(compress)
  execute_process(COMMAND ${GZIP} -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Debian's loader looks into /usr/lib by itself: only the private folder must be named.
foreach(component Runtime Compiler Driver)
  set(stage ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  file(GLOB programs ${stage}/lib/libnpar*.so.? ${stage}/bin/npar)
  foreach(program IN LISTS programs)
    if(component STREQUAL "Compiler")
      file(RPATH_CHANGE FILE ${program} OLD_RPATH "$ORIGIN:$ORIGIN/npar" NEW_RPATH /usr/lib/npar)
    else()
      file(RPATH_REMOVE FILE ${program})
    endif()
  endforeach()
endforeach()

file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/Driver/usr/share/man/man1/*.1)
compress(${pages})

# Each package has its licence and its changes in a folder of its name.
file(READ ${CPACK_NPAR_SOURCE}/LICENSE licence)
set(runtime ${CPACK_TEMPORARY_DIRECTORY}/Runtime/usr/share/npar)
file(READ ${runtime}/NOTICES notices)
file(REMOVE_RECURSE ${runtime})
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(folder ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(text "npar\n\n${licence}")
  if(component MATCHES "^(Runtime|Compiler)$")
    string(APPEND text "\n${notices}")
  endif()
  file(WRITE ${folder}/copyright "${text}")
  file(CONFIGURE OUTPUT ${folder}/changelog @ONLY CONTENT
    "npar (@CPACK_PACKAGE_VERSION@) unstable; urgency=medium\n\n  * Packages of this version.\n\n -- @CPACK_PACKAGE_CONTACT@  @date@\n")
  compress(${folder}/changelog)
endforeach()
