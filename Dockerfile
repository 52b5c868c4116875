# kb serve and every other verb, with the shipped knowledge unpacked:
#   docker build -t fieldmark .
#   docker run -p 127.0.0.1:8000:8000 -v "$PWD/trip:/photos" fieldmark
#   docker run -v "$PWD/trip:/photos" fieldmark identify /photos
# tests/cli/serve/test_dockerfile.py runs the steps without Docker.
FROM python:3.13-slim AS build
ENV PREFIX=/opt/fieldmark FIELDMARK_HOME=/fieldmark
COPY . /source
WORKDIR /source
# The demo compiles the modules in use (all modules would take 180 MB more), kb status unpacks the knowledge.
RUN python -m venv "$PREFIX" && \
    "$PREFIX/bin/pip" install --no-cache-dir --no-compile '.[serve,web,excel]' && \
    "$PREFIX/bin/kb" demo && \
    "$PREFIX/bin/kb" status

FROM python:3.13-slim
# Answers and corrections lie beside the photos: build with the number of their owner.
ARG UID=1000
RUN useradd --create-home --uid "$UID" fieldmark && install -d -o "$UID" /photos
COPY --from=build /opt/fieldmark /opt/fieldmark
COPY --from=build --chown=$UID /fieldmark /fieldmark
ENV PATH=/opt/fieldmark/bin:$PATH FIELDMARK_HOME=/fieldmark
USER $UID
WORKDIR /photos
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz')"]
ENTRYPOINT ["kb"]
CMD ["serve", "--host", "0.0.0.0", "--photos", "/photos"]
